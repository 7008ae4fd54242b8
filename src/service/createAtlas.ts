import { lazy } from '../core/shared/lazy';
import { AtlasReader } from './atlasReader';
import type { ServicePorts } from './ports';

/** Composes Atlas for a store: what reads is there at once, what is heavy when it is first asked for. */
export function createAtlas(ports: ServicePorts): AtlasReader {
  const reader: AtlasReader = new AtlasReader(
    ports,
    lazy(async () => new (await import('./atlas')).Atlas(ports, reader)),
  );
  return reader;
}
