import { type Task, worktreeOf } from '../../core/task/task';
import { ConfigFiles, type LoadedConfig } from '../../store/config/configFile';
import type { LoadedTemplates, ParsedTemplate } from '../../store/config/templateFiles';
import type { ServicePorts } from '../ports';

/** Settings and templates, as they hold for a task or a folder. */
export class ConfigSource {
  private readonly files: ConfigFiles;
  private readonly parsedTemplates = new Map<string, ParsedTemplate>();

  constructor(private readonly ports: ServicePorts) {
    this.files = new ConfigFiles(ports.files, ports.paths.config, ports.clock);
  }

  /** The settings that hold for a task: the user's, and those that its repository may set for itself. */
  async forTask(task: Task): Promise<LoadedConfig> {
    return this.files.load(worktreeOf(task));
  }

  /** The settings that hold in a worktree, or the user's alone. */
  async forWorktree(worktree: string | undefined): Promise<LoadedConfig> {
    return this.files.load(worktree);
  }

  async templates(worktree: string | undefined): Promise<LoadedTemplates> {
    const { loadTemplates } = await import('../../store/config/templateFiles');
    return loadTemplates(this.ports.files, worktree, this.parsedTemplates);
  }

  /** The templates to choose from, those that don't fit the worktree's languages last. */
  async templatesToOffer(worktree: string): Promise<LoadedTemplates> {
    const loaded = await this.templates(worktree);
    const { languagesOf } = await import('../../store/config/languages');
    const { fittingFirst } = await import('../../core/task/templates/templates');
    return { ...loaded, templates: fittingFirst(loaded.templates, languagesOf(this.ports.files, worktree)) };
  }
}
