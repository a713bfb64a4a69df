"""Ready-made scorers for scikit-learn's model selection, under the names of ``sklearn_crfsuite.scorers``."""

from sklearn.metrics import make_scorer

from widemargin.crfsuite import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
