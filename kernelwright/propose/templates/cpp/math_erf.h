// erf of lanes: |x| is cut into equal pieces, each with a polynomial of its own, in the place of torch's
// and the C library's branches. Below 1 the polynomial is of erf(x)/x, where the ratio keeps small
// results precise; above it is of erf(x). Coefficients are picked by lane: 32 pieces fit two registers
// of AVX-512, 8 pieces one of AVX2. Chebyshev fits in the middle of each piece, rounded to float.
namespace kw {

constexpr float erf_is_one = 0x1.fffffep1f;  // erf of that, and of all that is larger, rounds to 1

#ifdef __AVX512F__
// Degree 4 over 1/8 of |x|. The last piece is 1.
alignas(64) constexpr float erf_table[5][32] = {
    {1.12837923f, 1.12252963f, 1.10530555f, 1.07764506f, 1.04099977f, 0.997185409f, 0.948207498f,
     0.896085799f, 0.842700779f, 0.888388216f, 0.92290014f, 0.948170066f, 0.966105163f, 0.978443742f,
     0.986671686f, 0.99199003f, 0.995322287f, 0.997345984f, 0.998537302f, 0.999217033f, 0.999593019f,
     0.999794602f, 0.999899387f, 0.999952137f, 0.999977887f, 0.999990106f, 0.999995708f, 0.999998212f,
     0.999999285f, 0.999999702f, 0.999999881f, 1.0f},
    {2.7909218e-08f, -0.0116442861f, -0.0226455908f, -0.0324306116f, -0.0405541472f, -0.046737045f,
     -0.0508793071f, -0.0530486181f, 0.0518886335f, 0.0397844091f, 0.029565258f, 0.0212950408f,
     0.0148663111f, 0.0100590251f, 0.00659684697f, 0.00419319142f, 0.00258333446f, 0.00154256762f,
     0.00089276128f, 0.000500788039f, 0.000272270088f, 0.000143473997f, 7.32780172e-05f, 3.62744977e-05f,
     1.74042834e-05f, 8.09352878e-06f, 3.6479305e-06f, 1.59361002e-06f, 6.74752187e-07f, 2.76906547e-07f,
     1.10140938e-07f, 0.0f},
    {-0.00587718002f, -0.0057138619f, -0.00524085015f, -0.00450893119f, -0.00359359034f, -0.00258328998f,
     -0.00156668783f, -0.000621240295f, -0.00648762891f, -0.00559597835f, -0.0046205055f, -0.00366063463f,
     -0.00278764288f, -0.00204319158f, -0.00144284964f, -0.000982491067f, -0.000645532913f,
     -0.000409472617f, -0.000250866171f, -0.000148502149f, -8.49638745e-05f, -4.69963525e-05f,
     -2.51375659e-05f, -1.30046592e-05f, -6.5083027e-06f, -3.15134866e-06f, -1.47653634e-06f,
     -6.69519409e-07f, -2.93832755e-07f, -1.24823643e-07f, -5.13323606e-08f, 0.0f},
    {5.03078866e-07f, 0.000109913453f, 0.00020725248f, 0.000282529887f, 0.000329295231f, 0.000345417386f,
     0.000332992407f, 0.000297486433f, 0.000274703838f, 0.000321043015f, 0.00032994902f, 0.000310102827f,
     0.000271647034f, 0.000224192816f, 0.000175500099f, 0.000130896296f, 9.33149349e-05f, 6.37325793e-05f,
     4.17759256e-05f, 2.6317357e-05f, 1.59508945e-05f, 9.30976785e-06f, 5.23624658e-06f, 2.8398299e-06f,
     1.4858598e-06f, 7.50353706e-07f, 3.65864196e-07f, 1.72298002e-07f, 7.83918352e-08f, 3.44666091e-08f,
     1.46475063e-08f, 0.0f},
    {2.71213667e-05f, 2.41597209e-05f, 1.87244896e-05f, 1.16842839e-05f, 4.1023477e-06f, -2.97746055e-06f,
     -8.71932116e-06f, -1.2617128e-05f, 1.17396357e-05f, 2.43109389e-06f, -4.75153229e-06f, -9.4317802e-06f,
     -1.1727836e-05f, -1.20887362e-05f, -1.11120307e-05f, -9.39063466e-06f, -7.41236136e-06f,
     -5.51621497e-06f, -3.89377828e-06f, -2.61787955e-06f, -1.6814214e-06f, -1.03401021e-06f,
     -6.09879919e-07f, -3.45483556e-07f, -1.88170418e-07f, -9.86296058e-08f, -4.97876158e-08f,
     -2.4219549e-08f, -1.13599539e-08f, -5.13983078e-09f, -2.244259e-09f, 0.0f}
};
inline vf erf_coefficient(int degree, vi at) {
  return (vf)_mm512_permutex2var_ps(_mm512_load_ps(erf_table[degree]), (__m512i)at,
                                    _mm512_load_ps(erf_table[degree] + 16));
}
inline vf erf(vf x) {
  const vf a = abs(x);
  const vf t = below(a, erf_is_one) * 8.0f;
  const vi at = __builtin_convertvector(t, vi);
  const vf d = t - __builtin_convertvector(at, vf);
  vf q = erf_coefficient(4, at);
  for (int degree = 3; degree >= 0; --degree) q = fma(q, d, erf_coefficient(degree, at));
  return q * (a < 1.0f ? x : with_sign_of(splat(1.0f), x));
}
#else
// Degree 6 over 1/2 of |x|, around the middle of the piece.
alignas(32) constexpr float erf_table[7][8] = {
    {1.10530555f, 0.948207498f, 0.92290014f, 0.986671686f, 0.998537302f, 0.999899387f,
     0.999995708f, 0.999999881f},
    {-0.0905827433f, -0.203517556f, 0.118260615f, 0.0263874177f, 0.00357115013f, 0.000293147139f,
     1.45968197e-05f, 4.40942415e-07f},
    {-0.0838377848f, -0.0250543728f, -0.0739128888f, -0.0230890568f, -0.0040175477f, -0.000403066166f,
     -2.37166296e-05f, -8.26418898e-07f},
    {0.0130864782f, 0.0211655293f, 0.0209403876f, 0.0112722106f, 0.00271587144f, 0.000344775704f,
     2.44024704e-05f, 9.88980787e-07f},
    {0.00556413271f, -0.00155376643f, -0.00038376273f, -0.00300653465f, -0.00119292468f, -0.000203614283f,
     -1.7893095e-05f, -8.62643617e-07f},
    {-0.00109282567f, -0.00116470794f, -0.0014617854f, 0.000186541321f, 0.000330663432f, 8.83078537e-05f,
     1.03940556e-05f, 6.31366845e-07f},
    {-0.000282338617f, 0.000221904789f, 0.000323200598f, 0.000141236742f, -4.36741975e-05f, -2.60405268e-05f,
     -4.25746066e-06f, -3.20502608e-07f}
};
inline vf erf_coefficient(int degree, vi at) {
#ifdef __AVX2__
  return (vf)_mm256_permutevar8x32_ps(_mm256_load_ps(erf_table[degree]), (__m256i)at);
#else
  vf v;
  for (int i = 0; i < lanes; ++i) v[i] = erf_table[degree][at[i] & 7];
  return v;
#endif
}
inline vf erf(vf x) {
  const vf a = abs(x);
  const vf t = below(a, erf_is_one) * 2.0f;
  const vi at = __builtin_convertvector(t, vi);
  const vf d = t - __builtin_convertvector(at, vf) - 0.5f;
  vf q = erf_coefficient(6, at);
  for (int degree = 5; degree >= 0; --degree) q = fma(q, d, erf_coefficient(degree, at));
  q = a >= 3.875f ? splat(1.0f) : q;
  return q * (a < 1.0f ? x : with_sign_of(splat(1.0f), x));
}
#endif
inline float erf(float x) { return std::erf(x); }
inline double erf(double x) { return std::erf(x); }

}  // namespace kw
