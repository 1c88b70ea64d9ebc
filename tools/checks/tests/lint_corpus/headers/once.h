#pragma once
inline uint once(uint x) { return x; }
