/**
 * The call that ends a process of Windows with all below it. The program is named in full: Windows would look for it in
 * the current folder first.
 */
export function taskkill(pid: number, env: NodeJS.ProcessEnv): { readonly file: string; readonly args: string[] } {
  return { file: `${windowsPrograms(env)}\\taskkill.exe`, args: ['/pid', String(pid), '/t', '/f'] };
}

/** The folder of Windows' own programs. */
export function windowsPrograms(env: NodeJS.ProcessEnv): string {
  return `${env['SystemRoot'] ?? 'C:\\Windows'}\\System32`;
}
