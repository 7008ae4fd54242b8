/**
 * Remembers the environment of this process.
 * @returns gives it back as it was, in the object that Node and everything else has hold of
 */
export function rememberEnvironment(): () => void {
  const before = { ...process.env };
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, before);
  };
}
