import { type Result, fail, ok } from '../../core/shared/errors';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { dirname } from 'node:path';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { fileError } from '../../system/files/fileErrors';
import { readYamlText } from './configParser';

/** A setting of a section of config.yaml. */
export interface Setting {
  readonly name: string;
  readonly value: boolean | readonly string[];
}

/** Puts settings into a config.yaml; what else is in it stays. Fails with `invalid_config` where it isn't valid YAML. */
export async function writeSettings(
  { files, ids }: { readonly files: FileSystem; readonly ids: Ids },
  path: string,
  section: string,
  settings: readonly Setting[],
): Promise<Result<void>> {
  const { withSettings } = await import('./yaml');
  const texts = settings.map(({ name, value }) => ({
    name,
    value: typeof value === 'boolean' ? String(value) : `[${value.join(', ')}]`,
  }));
  try {
    const stat = files.stat(path);
    const read =
      stat === undefined ? { text: '' } : readYamlText(files, path, files.stat(files.realPath(path))?.size ?? 0);
    const text = 'problem' in read ? undefined : withSettings(read.text, section, texts);
    if (text === undefined) {
      const message = `${path} was not changed, since it can't be read as settings.`;
      return fail('invalid_config', message, { hint: 'Fix the file and try again.' });
    }
    ensureFolder(files, dirname(path));
    // A link stays one.
    replaceFile(files, ids, stat === undefined ? path : files.realPath(path), text, { durable: true });
    return ok(undefined);
  } catch (error) {
    return { ok: false, error: fileError('write_failed', `${path} could not be changed`, error) };
  }
}
