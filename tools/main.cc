// tessera: the command a person types.
#include "common/heap.h"
#include "common/log.h"
#include "tools/command_line.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  tessera::KeepFreedMemory();
  tessera::StartLog("tessera");  // on stderr: stdout is the result's
  tessera::CommandLine line;
  tessera::AddTrain(&line);
  tessera::AddCluster(&line);
  tessera::AddJob(&line);
  tessera::AddEvaluate(&line);
  tessera::AddPredict(&line);
  tessera::AddTable(&line);
  tessera::AddData(&line);
  tessera::AddBench(&line);
  return line.Run(argc, argv);
}
