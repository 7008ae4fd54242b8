// What verifies and shares receipts, in a file of its own beside the command's and the window's: few of their runs need it.
export { verifyMarkdown } from '../../core/verify/renderMarkdown';
export { verifySarif } from '../../core/verify/renderSarif';
export { verifyText } from '../../core/verify/renderText';
export { commitsOf } from '../../git/notes/history';
export { attachReceipts } from './attach';
export { Reruns } from './rerun';
export { parseResults, serializeResults } from './results';
export { ReceiptSharing, fetchReceipts, remoteNamed } from './share';
export { trustOwnKey } from './trust';
export { verifyCommits } from './verifyService';
