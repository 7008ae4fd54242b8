import { isAbsolute, resolve } from 'node:path';
import { AtlasError, messageOf } from '../../core/shared/errors';
import type { FileSystem } from '../../core/shared/ports';
import { oneLine } from '../../core/shared/text';
import type { Call } from '../parse/call';
import type { CliContext } from '../context';

/**
 * Writes to the file that `--output` names, relative to the folder of whoever calls; over one that is there only with
 * `--force`. Gives its path; throws `write_failed`.
 */
export function writeOutput(
  files: Pick<FileSystem, 'write'>,
  { folder }: Pick<CliContext, 'folder'>,
  call: Call,
  file: string,
  data: string | Uint8Array,
): string {
  const path = isAbsolute(file) ? file : resolve(folder, file);
  try {
    files.write(path, data, { exclusive: !call.flag('force') });
    return path;
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new AtlasError('write_failed', `${oneLine(path)} could not be written: ${messageOf(error)}`, {
      cause: error,
      ...(exists ? { hint: 'The file exists. Name another file, or overwrite it with --force.' } : {}),
    });
  }
}
