// Marks functions that the processor and a device both run.
#pragma once

#ifdef __CUDACC__
#define GPU_ENGINE_BOTH __host__ __device__ __forceinline__
#else
#define GPU_ENGINE_BOTH inline
#endif
