/** Whether a link may be opened: http and https only, without a name or password in it. */
export function isWebLink(href: string): boolean {
  if (!URL.canParse(href)) return false;
  const url = new URL(href);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}
