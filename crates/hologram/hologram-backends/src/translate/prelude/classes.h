// Classes of the Atlas.

METAL_FUNC uchar hg_mirror(uchar c) { return c >= 96 ? (uchar)255 : (c / 3) % 2 == 0 ? (uchar)(c + 3) : (uchar)(c - 3); }
struct hg_pair { uint x, y; };
// Neighbour `index`, ascending, and the number of neighbours of a class.
HG_FAR hg_pair hg_neighbours(uchar class_, uint index) {
    hg_pair r;
    r.x = 0;
    r.y = 0;
    const uint c = class_;
    if (c >= 96) return r;
    for (uint w = 48; w >= 6; w /= 2)
        if ((c / w) % 2 == 1) { if (r.y == index) r.x = c - w; r.y += 1; }
    if (c % 3 > 0) { if (r.y == index) r.x = c - 1; r.y += 1; }
    if (c % 3 < 2) { if (r.y == index) r.x = c + 1; r.y += 1; }
    for (uint w = 6; w <= 48; w *= 2)
        if ((c / w) % 2 == 0) { if (r.y == index) r.x = c + w; r.y += 1; }
    return r;
}
