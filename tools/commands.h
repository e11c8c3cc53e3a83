// Every command, each declared by the file command_NAME.cc.
#pragma once

#include "tools/command_line.h"

namespace tessera {

void AddTrain(CommandLine* line);
void AddCluster(CommandLine* line);
void AddJob(CommandLine* line);
void AddEvaluate(CommandLine* line);
void AddPredict(CommandLine* line);
void AddTable(CommandLine* line);
void AddData(CommandLine* line);
void AddBench(CommandLine* line);

}  // namespace tessera
