import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionStatus,
  startCompletion,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, insertNewline } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { PromQLExtension } from '@prometheus-io/codemirror-promql';
import { useEffect, useRef } from 'react';
import css from './PromqlEditor.module.css';
import { completionFor } from './promqlCompletion';

const colors = HighlightStyle.define([
  {
    tag: [tags.function(tags.variableName), tags.operatorKeyword, tags.keyword],
    color: 'var(--rs-series-0)',
  },
  { tag: tags.labelName, color: 'var(--rs-series-4)' },
  { tag: tags.string, color: 'var(--rs-tone-good)' },
  { tag: [tags.number, tags.comment], color: 'var(--rs-muted)' },
]);

interface PromqlEditorProps {
  session: string;
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
  onRun: () => void;
  onFocus: () => void;
}

/**
 * A PromQL field with completion. Enter runs the query, Shift+Enter inserts a line break, and Tab leaves the
 * field or accepts a completion.
 */
export default function PromqlEditor(props: PromqlEditorProps) {
  const { session, label, value } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const parent = box.current;
    if (parent === null) return;
    const promql = new PromQLExtension().setComplete({ completeStrategy: completionFor(session) });
    const run = () => {
      latest.current.onRun();
      return true;
    };
    const editor = new EditorView({
      parent,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          history(),
          bracketMatching(),
          closeBrackets(),
          syntaxHighlighting(colors),
          autocompletion({ icons: false, maxRenderedOptions: 200 }),
          promql.asExtension(),
          placeholder(latest.current.placeholder),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label, 'data-testid': 'expr' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
            if (update.focusChanged && update.view.hasFocus) latest.current.onFocus();
          }),
          Prec.high(
            keymap.of([
              // Tab leaves the field, unless a completion is open.
              { key: 'Tab', run: (at) => completionStatus(at.state) === 'active' && acceptCompletion(at) },
              { key: 'Ctrl-Space', run: startCompletion },
              { key: 'Shift-Enter', run: insertNewline },
              { key: 'Enter', run },
              { key: 'Mod-Enter', run },
            ]),
          ),
          keymap.of([...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
        ],
      }),
    });
    view.current = editor;
    return () => {
      promql.destroy();
      editor.destroy();
    };
  }, [session, label]);

  useEffect(() => {
    const editor = view.current;
    const text = editor?.state.doc.toString();
    if (editor != null && text !== value)
      editor.dispatch({ changes: { from: 0, to: text?.length, insert: value } });
  }, [value]);

  return <div ref={box} className={css.editor} />;
}
