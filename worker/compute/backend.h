#pragma once
namespace tessera { class Backend; }
