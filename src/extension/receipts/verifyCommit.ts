import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { locateRepository } from '../../git/read/locate';
import { commitsOf, verifyCommits, verifyText } from '../../service/verify/verifyParts';
import { ageOf } from '../shared/ages';
import { chosen, field } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { oneFolder, withNotice } from '../shared/dialogs';
import { plain } from '../shared/messages';

const MAX_COMMITS = 50;

/** Atlas: Verify Commit… Asks for a commit, and shows whether it has the receipts that its base demands. */
export const verifyCommit: CommandHandler = async (context, argument) => {
  const repository = locateRepository(await chooseFolder(context, argument));
  if (repository === undefined) throw noRepository();
  const commits = unwrap(await commitsOf(repository, [`--max-count=${MAX_COMMITS}`, 'HEAD']));
  const now = context.session.atlas.ports.clock.now();
  const items = commits.map(({ commit, subject, at }) => ({
    label: plain(subject, 100),
    description: `${commit.slice(0, 12)} · ${ageOf(at, now)}`,
    commit,
  }));
  const placeHolder = vscode.l10n.t('Which commit?');
  const { commit } = chosen(await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true }));
  const { curve } = await context.session.atlas.receipts();
  const request = { revision: commit, base: undefined, require: [], allowAncestor: false, env: {} };
  const { report } = unwrap(
    await withNotice(vscode.l10n.t('Verifying the commit'), async () => verifyCommits(repository, curve, request)),
  );
  const show = vscode.l10n.t('Show');
  const said = {
    passed: vscode.l10n.t('The commit has every receipt that {0} demands.', plain(report.base.name)),
    not_verified: vscode.l10n.t('The commit lacks receipts that {0} demands.', plain(report.base.name)),
    protected: vscode.l10n.t('The commit changes protected paths, so a human has to review it.'),
  }[report.outcome];
  const tell = report.outcome === 'passed' ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
  void tell(said, show).then(async (answer) => {
    if (answer === show) await context.documents.show('atlas-verify.txt', verifyText(report));
  });
};

/** The folder of the Source Control entry that the command was chosen on, or of this window. */
async function chooseFolder({ session }: CommandContext, argument: unknown): Promise<string> {
  const root = field(argument, 'rootUri');
  if (root instanceof vscode.Uri) return root.fsPath;
  const folders = session.ownPlaces.flatMap((place) => place.repository?.worktree ?? []);
  return oneFolder(folders, vscode.l10n.t('Which repository?'), noRepository());
}

function noRepository(): AtlasError {
  return new AtlasError('no_repository', vscode.l10n.t('No folder of this window is in a Git repository.'), {
    hint: vscode.l10n.t('Open one, or create one with "Git: Initialize Repository".'),
  });
}
