import { join, parse } from 'node:path';
import { messageOf } from '../../core/shared/errors';
import type { FileSystem } from '../../core/shared/ports';
import { BUILTIN_TEMPLATES } from '../../core/task/templates/templates';
import type { TaskTemplate } from '../../core/task/templates/template';
import { templateFromFile } from '../../core/task/templates/templateFile';
import type { ConfigIssue } from '../../core/config/configIssue';
import { readYamlText } from './configParser';
import { placedAt } from '../../system/files/placedFile';
import { templateFolder } from '../paths';
import type { TextPosition } from '../../core/config/configIssue';

const START: TextPosition = { line: 1, column: 1 };
/** How many template files of a repository are read; every command checks them. */
const MAX_TEMPLATES = 200;

/** All templates of a project, and what is wrong in the files that could not be used. */
export interface LoadedTemplates {
  readonly templates: readonly TaskTemplate[];
  readonly issues: readonly ConfigIssue[];
  /** The names that files with a mistake would give their template, each with its mistake. */
  readonly broken: ReadonlyMap<string, ConfigIssue>;
}

/**
 * The built-in templates and a repository's own; a bad file is reported and hides none of the others.
 * @param parsed files as they were read before; one that didn't change since is not read again
 */
export async function loadTemplates(
  files: FileSystem,
  worktree: string | undefined,
  parsed: Map<string, ParsedTemplate> = new Map<string, ParsedTemplate>(),
): Promise<LoadedTemplates> {
  const own: TaskTemplate[] = [];
  const issues: ConfigIssue[] = [];
  const broken = new Map<string, ConfigIssue>();
  const folder = worktree === undefined ? undefined : templateFolder(worktree);
  const listed = folder === undefined ? { names: [] } : namesIn(files, folder, worktree);
  if (listed.problem !== undefined) issues.push({ file: folder ?? '', position: START, message: listed.problem });
  if (folder !== undefined && listed.names.length > 0) {
    for (const name of listed.names) {
      const file = join(folder, name);
      const loaded = await loadTemplate(files, file, worktree, parsed);
      if ('template' in loaded) own.push(loaded.template);
      else {
        const issue = { file, position: loaded.position, message: loaded.message };
        issues.push(issue);
        for (const wanted of [parse(name).name, ...(loaded.names ?? [])]) broken.set(wanted.toLowerCase(), issue);
      }
    }
  }
  const ids = own.map((template) => template.id);
  for (const id of new Set(ids.filter((item, index) => ids.indexOf(item) !== index))) {
    issues.push({
      file: folder ?? '',
      position: START,
      message: `Template "${id}" is defined twice. The first file is used.`,
    });
  }
  const first = own.filter((template, index) => ids.indexOf(template.id) === index);
  const shadowed = new Set(ids);
  const builtin = BUILTIN_TEMPLATES.filter((template) => !shadowed.has(template.id));
  return { templates: [...first, ...builtin], issues, broken };
}

/** `names`: those that the file gives its template, as far as they can be read. */
type Loaded =
  { readonly template: TaskTemplate } | (Omit<ConfigIssue, 'file'> & { readonly names?: readonly string[] });

/** A template file as it was read. */
export interface ParsedTemplate {
  readonly stamp: string;
  readonly loaded: Loaded;
}

/** The template files of a folder, in order. */
function namesIn(
  files: FileSystem,
  folder: string,
  worktree: string | undefined,
): { readonly names: readonly string[]; readonly problem?: string } {
  const placed = placedAt(files, folder, 'folder', worktree);
  if (placed.kind === 'absent') return { names: [] };
  if (placed.kind === 'refused') return { names: [], problem: placed.why };
  try {
    const names = files.list(placed.real).filter((item) => /\.ya?ml$/iu.test(item));
    const problem = `There are ${names.length} files here, but at most ${MAX_TEMPLATES} are read.`;
    return { names: names.sort().slice(0, MAX_TEMPLATES), ...(names.length > MAX_TEMPLATES ? { problem } : {}) };
  } catch (error) {
    return { names: [], problem: `This could not be read: ${messageOf(error)}` };
  }
}

async function loadTemplate(
  files: FileSystem,
  file: string,
  worktree: string | undefined,
  parsed: Map<string, ParsedTemplate>,
): Promise<Loaded> {
  const placed = placedAt(files, file, 'file', worktree);
  if (placed.kind === 'absent') return { position: START, message: 'The file no longer exists.' };
  if (placed.kind === 'refused') return { position: START, message: placed.why };
  const { real, stat } = placed;
  const stamp = `${real}:${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  const known = parsed.get(file);
  if (known?.stamp === stamp) return known.loaded;
  const read = readYamlText(files, real, stat.size);
  // What could not be read just now is tried again, though the file is the same.
  if ('problem' in read) return { position: START, message: read.problem };
  const loaded = await parseTemplate(read.text);
  parsed.set(file, { stamp, loaded });
  return loaded;
}

async function parseTemplate(text: string): Promise<Loaded> {
  const { parseYaml } = await import('./yaml');
  const names = namesGiven(text);
  try {
    const yaml = parseYaml(text);
    if (yaml.error !== undefined) return { ...yaml.error, names };
    const template = templateFromFile(yaml.data);
    if (template.ok) return { template: template.value };
    const path = Array.isArray(template.error.cause) ? (template.error.cause as (string | number)[]) : [];
    return { position: yaml.positionOf(path), message: template.error.message, names };
  } catch (error) {
    return { position: START, message: messageOf(error), names };
  }
}

/** The id and the aliases on one line that a text names, whether or not it is a template. */
function namesGiven(text: string): string[] {
  const given = text.matchAll(/^["']?(?:id|aliases)["']?:(.*)$/gmu);
  return [...given].flatMap(([, value = '']) => value.match(/[a-z][a-z0-9_-]*/gu) ?? []);
}
