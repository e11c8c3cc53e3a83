// How this process's heap treats memory that is given back.
#pragma once

namespace tessera {

// Keeps freed memory in the process. glibc by default hands a block of megabytes back to the kernel when it is freed, and the next step gets
// the same megabytes as fresh zero pages; a training step frees and takes whole messages each time, so that costs more than reading them.
// Call first in main, before another thread takes memory. Does nothing where the C library is not glibc.
void KeepFreedMemory();

}  // namespace tessera
