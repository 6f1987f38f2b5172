// Sets the theme before the first paint. A file of its own because the CSP allows no inline script.
(() => {
  let scheme = 'auto';
  try {
    scheme = localStorage.getItem('rayscope.theme') || 'auto';
  } catch {
    // Storage is off: follow the system.
  }
  if (scheme !== 'light' && scheme !== 'dark') {
    scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme);
})();
