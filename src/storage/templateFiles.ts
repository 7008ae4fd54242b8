import { join } from 'node:path';
import { messageOf } from '../core/errors';
import type { FileSystem } from '../core/ports';
import { BUILTIN_TEMPLATES, type TaskTemplate, templateFromFile } from '../core/template';
import { type ConfigIssue, MAX_YAML_BYTES } from './configFile';
import type { ParsedYaml } from './yaml';

/** All templates of a project, and what is wrong in the files that could not be used. */
export interface LoadedTemplates {
  readonly templates: readonly TaskTemplate[];
  readonly issues: readonly ConfigIssue[];
}

/** Where a repository keeps its templates. */
export function templateFolder(worktree: string): string {
  return join(worktree, '.atlas', 'templates');
}

/** The built-in templates and a repository's own; a bad file is reported and hides none of the others. */
export async function loadTemplates(files: FileSystem, worktree: string | undefined): Promise<LoadedTemplates> {
  const own: TaskTemplate[] = [];
  const issues: ConfigIssue[] = [];
  const folder = worktree === undefined ? undefined : templateFolder(worktree);
  if (folder !== undefined && files.stat(folder)?.kind === 'folder') {
    const { parseYaml } = await import('./yaml');
    for (const name of files
      .list(folder)
      .filter((item) => /\.ya?ml$/iu.test(item))
      .sort()) {
      const file = join(folder, name);
      const loaded = loadTemplate(files, file, parseYaml);
      if ('template' in loaded) own.push(loaded.template);
      else issues.push({ file, ...loaded });
    }
  }
  const ids = own.map((template) => template.id);
  for (const id of new Set(ids.filter((item, index) => ids.indexOf(item) !== index))) {
    issues.push({
      file: folder ?? '',
      position: { line: 1, column: 1 },
      message: `Template "${id}" is there twice; the first file counts.`,
    });
  }
  const first = own.filter((template, index) => ids.indexOf(template.id) === index);
  const shadowed = new Set(ids);
  return { templates: [...first, ...BUILTIN_TEMPLATES.filter((template) => !shadowed.has(template.id))], issues };
}

type Problem = Omit<ConfigIssue, 'file'>;

function loadTemplate(
  files: FileSystem,
  file: string,
  parseYaml: (text: string) => ParsedYaml,
): { template: TaskTemplate } | Problem {
  const start = { line: 1, column: 1 };
  try {
    if (files.stat(file)?.kind !== 'file') return { position: start, message: 'This is not a file.' };
    const yaml = parseYaml(Buffer.from(files.read(file, MAX_YAML_BYTES)).toString('utf8'));
    if (yaml.error !== undefined) return yaml.error;
    const template = templateFromFile(yaml.data);
    if (template.ok) return { template: template.value };
    const path = Array.isArray(template.error.cause) ? (template.error.cause as (string | number)[]) : [];
    return { position: yaml.positionOf(path), message: template.error.message };
  } catch (error) {
    return { position: start, message: messageOf(error) };
  }
}
