//! Devices, buffers and launches for baton kernels.
