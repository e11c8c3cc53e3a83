#include "tools/checkpoint_flags.h"

#include "CLI/App.hpp"

namespace tessera {

void AddCheckpointFlags(CLI::App* command, bool data_required, CheckpointFlags* flags) {
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "a checkpoint, a folder of checkpoints, or runs/NAME; @best or @newest after it chooses")
      ->required()
      ->type_name("DIR");
  command->add_option("--data", flags->data, "files or globs; - is standard input")->required(data_required)->type_name("FILE...");
  command->add_option("--batch", flags->batch_rows, "rows scored together; they change no digit")->check(CLI::Range(1, 1 << 24))->type_name("N");
  command->add_option("--threads", flags->threads, "threads; they change no digit")->check(CLI::Range(1, 1024))->type_name("N");
}

}  // namespace tessera
