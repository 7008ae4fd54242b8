import { unwrap } from '../../../core/shared/errors';
import { TRUSTED_KEYS_FILE } from '../../../core/verify/policy';
import { foreignName } from '../../../core/verify/foreignText';
import { trustOwnKey } from '../../../service/verify/verifyParts';
import type { Handler } from '../../parse/commandLine';
import { EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { repositoryHere } from './repositoryHere';

/** `keys trust`: adds the own key to the repository's trusted ones. */
export const trust: Handler = async (context, call) => {
  const kind = call.text('kind') === 'ci' ? 'ci' : 'developer';
  const trusted = unwrap(
    await trustOwnKey(await context.atlas(), repositoryHere(context), { name: call.text('name'), kind }),
  );
  const { name, keyId, keyPath, added } = trusted;
  const whose = `${foreignName(name, 100)} (${trusted.kind}), key ${keyId.slice(0, 16)} at ${keyPath}`;
  const text = added
    ? `Added to ${TRUSTED_KEYS_FILE}: ${whose}.\nIt counts once a maintainer has reviewed it and it is on the base branch.\n`
    : `${TRUSTED_KEYS_FILE} already has this key: ${whose}.\n`;
  const data: AnswerData<'keys trust'> = {
    path: trusted.path,
    name,
    kind: trusted.kind,
    key_id: keyId,
    key_path: keyPath,
    added,
  };
  return { exit: EXIT.done, text, data };
};
