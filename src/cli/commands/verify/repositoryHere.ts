import { AtlasError } from '../../../core/shared/errors';
import type { Repository } from '../../../core/shared/ports';
import { locateRepository } from '../../../git/read/locate';
import type { CliContext } from '../../context';

/** The repository of the current folder; throws `no_repository`. */
export function repositoryHere({ folder }: Pick<CliContext, 'folder'>): Repository {
  const repository = locateRepository(folder);
  if (repository !== undefined) return repository;
  throw new AtlasError('no_repository', 'This folder is in no git repository.', {
    hint: 'Run it in a clone of the repository.',
  });
}
