/* The script of every panel's page: one file, since most of it is what the pages share. */
const PAGES: Readonly<Record<string, () => Promise<unknown>>> = {
  taskPanel: () => import('./taskPanel/main'),
  receiptsPanel: () => import('./receiptsPanel/main'),
  detailsPanel: () => import('./detailsPanel/main'),
};

void PAGES[document.documentElement.dataset['page'] ?? '']?.();
