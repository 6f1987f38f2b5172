import '@mantine/core/styles.css';
import './theme/global.css';
import './theme/alerts.css';
import './theme/jobs.css';
import './theme/memory.css';
import './theme/logs.css';
import './theme/metrics.css';
import './theme/nodes.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App';
import { initI18n } from './i18n';

initI18n();
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
