// tessera: the command a person types.
#include "tools/command_line.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  tessera::CommandLine line;
  tessera::AddTrain(&line);
  tessera::AddCluster(&line);
  tessera::AddJob(&line);
  tessera::AddEvaluate(&line);
  tessera::AddPredict(&line);
  tessera::AddData(&line);
  tessera::AddBench(&line);
  return line.Run(argc, argv);
}
