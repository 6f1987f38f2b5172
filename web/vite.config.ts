import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

/** Builds the UI as one script and one style sheet, from which the server makes a report: a single file. */
const REPORT = {
  outDir: '../src/rayscope/server/static/report',
  emptyOutDir: true,
  target: 'es2022',
  chunkSizeWarningLimit: 6000, // kB; layouts of graphs (elkjs) are the largest part
  assetsInlineLimit: Number.MAX_SAFE_INTEGER,
  cssCodeSplit: false,
  copyPublicDir: false,
  rolldownOptions: {
    input: 'src/main.ts',
    output: { codeSplitting: false, entryFileNames: 'report.js', assetFileNames: 'report[extname]' },
  },
};

export default defineConfig(({ mode }) => ({
  // The server serves the page at any depth, and writes the root path in place of the dot.
  base: './',
  plugins: [react()],
  build:
    mode === 'report'
      ? REPORT
      : {
          // The Python package serves these; hatch_build.py runs the build and stamps the result.
          outDir: '../src/rayscope/server/static',
          emptyOutDir: true,
          target: 'es2022',
          chunkSizeWarningLimit: 700, // kB before compression; about 195 kB after
          // The server's CSP has no data: for fonts or scripts.
          assetsInlineLimit: 0,
          rolldownOptions: {
            output: {
              // Our code changes with each release, these libraries seldom do. What only some views need is
              // left out: it comes with them.
              codeSplitting: {
                groups: [
                  // One sheet, in the order of main.ts, before those of the pages.
                  { name: 'theme', test: /src[\\/]ui[\\/]theme[\\/].*\.css$/ },
                  {
                    name: 'vendor',
                    test: /node_modules[\\/](?!@xyflow|react-remove-scroll|elkjs|d3-|zustand|classcat|uplot|react-number-format|@mantine[\\/]core[\\/]esm[\\/]components[\\/](Modal|ModalBase|NumberInput|Select|Slider|PasswordInput|Autocomplete|Textarea|Tabs)[\\/]|@tanstack[\\/](react-)?virtual|@codemirror|@lezer|@prometheus-io|@marijn|style-mod|w3c-keyname|crelt|lru-cache|modern-screenshot).*\.[cm]?jsx?$/,
                  },
                ],
              },
            },
          },
        },
  server: {
    proxy: { '/api': process.env.RAYSCOPE_URL ?? 'http://127.0.0.1:8700' },
  },
  test: {
    // For what hangs. No test fails because the machine is slow, so this is many times what the slowest one needs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        ssr: { resolve: { mainFields: ['module'] } },
        test: {
          name: 'plain',
          environment: 'node',
          include: ['src/**/*.test.ts'],
          // Node would load its CommonJS build, with a CodeMirror of its own.
          server: { deps: { inline: ['@prometheus-io/codemirror-promql'] } },
        },
      },
      {
        extends: true,
        test: {
          name: 'components',
          environment: 'happy-dom',
          include: ['src/**/*.test.tsx'],
          setupFiles: ['src/testing/setup.ts'],
          isolate: false,
        },
      },
    ],
  },
}));
