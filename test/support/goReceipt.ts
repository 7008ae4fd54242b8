/** Made by the Go ATLAS's own signing code. Not a secret: the key is a published counting test pattern. */
export const GO = {
  masterKey:
    '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f' +
    '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8',
  receipt: {
    receipt_id: 'rcpt-00000001',
    step_name: 'validate',
    command: 'magex lint',
    exit_code: 0,
    stdout_hash: 'e3b0c44298fc1c14',
    stderr_hash: '',
    started_at: '2026-01-17T09:35:00-05:00',
    completed_at: '2026-01-17T09:35:12.3456789-05:00',
    duration: '12.3s',
    key_path: 'native-ed25519-v1',
    signature:
      'c9abfd88e925e5fc205d6e6650ba3afac0475cd3bcd55ffbb13180e31311faca' +
      '3756b16d0f707afe79ce0e110167d4fed87407627107a2226069e17d92272c07',
  },
  message: 'rcpt-00000001|magex lint|0|e3b0c44298fc1c14||1768660512',
  sha256: 'a00a4d773a88656a0efabf59b70c8c1e9b6a135c74ee59d306b13dbcac94637c',
} as const;
