//! Pages, buffer pool, redo log, checkpoints, recovery and space of Leafline.
