import { Prose } from './Prose';
import { useServerMessage } from './useServerMessage';

/** An error and its remedy in one line, for answers that contain them as fields. */
export function ServerMessageLine({
  of,
}: {
  of: {
    error: string | null;
    remedy: string | null;
    error_code: string | null;
    error_params: Record<string, string | number> | null;
  };
}) {
  const translate = useServerMessage();
  const { error_code: code, error_params: params, remedy } = of;
  return (
    <span title={of.error ?? undefined}>
      <Prose text={translate({ code, params, message: of.error ?? '', remedy }).line} />
    </span>
  );
}
