//! The MySQL protocol server of Leafline.
