// Package stats turns counts and scores into numbers with honest uncertainty: intervals, paired tests, agreement,
// corrections for many comparisons and for an imperfect judge, and the draw of a reproducible sample.
//
// It owns the arithmetic and says, in [Interval.Method], which arithmetic it was. It knows counts, proportions and
// real numbers; it must not know verdicts, criteria, sessions, tables or files, and decides nothing about them.
//
// # Rules of the package
//
//   - No function returns NaN or an infinity. An argument that makes no sense is an [ArgumentError]. Data for which
//     the number does not exist (kappa of two raters who only ever used one category, an interval from one cluster)
//     is an [UndefinedError]: to be shown as null beside the reason, never as 0.
//   - A degenerate bootstrap is never reported. Data that are all equal give [1, 1] under any resampling, which
//     covers a true rate of 0.95 in 64 of 100 samples of 20 instead of 95. The Wilson or Tango interval is returned
//     in its place, with FallbackFrom and Reason set.
//   - Chance comes from a seed string only, and no result depends on the number of workers. Draws and samples are the
//     same on every machine; the last digit of a logarithm may differ between processor architectures.
//   - Two-sided intervals take a level such as 0.95 and put half of the rest into each tail.
//
// # Which function for which question
//
//	pass rate                                    Wilson; ClopperPearsonLower for "at least" gates; BootstrapProportion beside it
//	pass rate, sample of a finite window         FiniteProportion, WilsonFinite; a whole window is a census
//	pass rate, strata                            Stratified
//	with and without, pass or fail, same tasks   Tango, Newcombe10; McNemarMidP, McNemarExact
//	two independent groups                       NewcombeDifference; FisherExact
//	mean of scores                               MeanInterval (BCa, or Student t for fewer than ten)
//	mean difference of scores, same tasks        MeanInterval of the differences; SignFlip
//	several observations per user or service     ClusterInterval, ClusterBootstrap
//	rate behind an imperfect judge               RoganGladen, PPIPlus
//	agreement of raters                          GwetAC, CohenKappa, KrippendorffAlpha, FleissKappa
//	many comparisons at once                     Holm for gates, BenjaminiHochberg for lists
//
// # Sources
//
// Agresti and Min 2005 (Biometrics 61); Angelopoulos et al. 2023 (arXiv 2311.01453, PPI++); Benjamini and Hochberg
// 1995; Bowyer, Aitchison and Ivanova 2025 (arXiv 2503.01747); Brown, Cai and DasGupta 2001 (Statistical Science 16);
// Efron 1987 (BCa, JASA 82); Fagerland, Lydersen and Laake 2013 (mid-p McNemar); Fleiss, Cohen and Everitt 1969
// (standard error of kappa); Gwet 2008; Krippendorff 2011; Lee et al. 2025 (arXiv 2511.21140); Loader 2000 (binomial
// probabilities); Miller 2024 (arXiv 2411.00640, clustered standard errors); Newcombe 1998 (Statistics in Medicine 17,
// independent and paired differences); Tango 1998 (Statistics in Medicine 17). Each function names its own.
package stats
