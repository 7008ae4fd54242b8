import { randomBytes } from 'node:crypto';
import { Uri, type Webview, env } from 'vscode';

/** The name of a panel's page, a folder below `webview`. */
export type WebviewName = 'taskPanel' | 'receiptsPanel' | 'detailsPanel';

/** The folder of the built webviews, below the extension's. */
export function webviewRoot(extension: Uri): Uri {
  return Uri.joinPath(extension, 'dist', 'webview');
}

/** The page of a webview: the one script, its one style sheet, and nothing else may load or run. */
export function webviewPage(webview: Webview, extension: Uri, name: WebviewName, title: string): string {
  const nonce = randomBytes(18).toString('base64');
  const root = webviewRoot(extension);
  const script = webview.asWebviewUri(Uri.joinPath(root, 'panel.js')).toString();
  const style = webview.asWebviewUri(Uri.joinPath(root, `${name}.css`)).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="${attribute(env.language)}" data-page="${name}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${attribute(style)}">
<title>${attribute(title)}</title>
</head>
<body>
<div id="root"></div>
<script nonce="${nonce}" src="${attribute(script)}"></script>
</body>
</html>`;
}

function attribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
