import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import path from 'node:path';
import { Script } from 'node:vm';

/** Smaller files (characters) are compiled in the time that looking for a cache takes. */
const SMALLEST = 20_000;
/** So many processes write a cache again, with the functions that were called in them too: the first command says little about the others. */
export const WRITERS = 8;

interface Compiling {
  _compile(this: Module, content: string, filename: string): unknown;
}

/**
 * Keeps what V8 made of this program's files, so that the next process compiles nothing: that is half of what a short command
 * takes beyond Node itself. Node does it from 22.1 on; before, its loader is given scripts that were compiled here. A cache that
 * can't be written or doesn't fit is none: then all is compiled, as ever. Whoever can write the caches can write the program's
 * files, which lie beside them.
 * @param folder where the caches lie; made with the first one
 * @param version the program's
 */
export function useCompileCache(folder: string, version: string): void {
  if ((process.env['NODE_DISABLE_COMPILE_CACHE'] ?? '') !== '') return;
  const { enableCompileCache } = Module as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache !== undefined) {
    enableCompileCache(folder);
    return;
  }
  const prototype = Module.prototype as unknown as Compiling;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with a module below
  const { _compile: original } = prototype;
  const ours = path.dirname(folder) + path.sep;
  prototype._compile = function compile(content, filename) {
    if (!filename.startsWith(ours) || content.length < SMALLEST) return original.call(this, content, filename);
    return run(this, compiled(content, filename, fileFor(filename, folder), version), filename);
  };
}

/** Programs of several V8s, such as an editor's own Node, may share the folder: each has a file of its own. */
function fileFor(filename: string, folder: string): string {
  return path.join(folder, `${path.basename(filename)}.${process.versions.v8}-${process.arch}`);
}

type Wrapper = (exports: unknown, require: NodeJS.Require, module: Module, file: string, folder: string) => unknown;

/** As Node runs a CommonJS module. */
function run(module: Module, script: Script, filename: string): unknown {
  const wrapper = script.runInThisContext() as Wrapper;
  const require = Module.createRequire(filename);
  return wrapper.call(module.exports, module.exports, require, module, filename, path.dirname(filename));
}

function compiled(content: string, filename: string, file: string, version: string): Script {
  // V8 compares no more of the source than its length, and loading what makes digests would cost a quarter of what is won.
  const { size, mtimeMs } = statSync(filename);
  const source = `${version} ${size} ${Math.floor(mtimeMs)}`;
  const { cachedData, writers } = readCache(file, source);
  const script = new Script(Module.wrap(content.replace(/^#!/u, '//')), {
    filename,
    ...(cachedData && { cachedData }),
  });
  const before = script.cachedDataRejected === true ? 0 : writers;
  if (before < WRITERS) {
    process.once('exit', () =>
      writeCache(file, Buffer.concat([heading(`${source} ${before + 1}`), script.createCachedData()])),
    );
  }
  return script;
}

/** A line of a length that eight divides: V8 copies what doesn't lie at such an address. */
function heading(text: string): Buffer {
  return Buffer.from(`${text.padEnd(Math.ceil((text.length + 1) / 8) * 8 - 1)}\n`);
}

interface Cache {
  readonly cachedData?: Buffer;
  /** How many processes have written it. */
  readonly writers: number;
}

function readCache(file: string, source: string): Cache {
  try {
    const bytes = readFileSync(file);
    const end = bytes.indexOf('\n');
    const [known, writers] = bytes.toString('latin1', 0, end).split(/ (?=\d+ *$)/u);
    return known === source ? { cachedData: bytes.subarray(end + 1), writers: Number(writers) } : { writers: 0 };
  } catch {
    return { writers: 0 };
  }
}

/** Others may read it meanwhile, or write the same. */
function writeCache(file: string, bytes: Buffer): void {
  const own = `${file}.${process.pid}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(own, bytes);
    renameSync(own, file);
  } catch {
    try {
      rmSync(own, { force: true });
    } catch {
      // What can't be cleared away is as small a harm as what can't be written.
    }
  }
}
