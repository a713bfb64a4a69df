"""Learning to match: which node on the left belongs to which on the right?

Every possible pair has a vector of features: for the sentences of a text and its translation, say, how similar the two
are in length, words and place. A matching scores the sum over its pairs of ⟨w, features⟩. The Hungarian algorithm finds
the best one, and w is learned from examples of right matchings. The library knows nothing about matching: you write the
three methods of `Matching`, and it does the rest.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from widemargin import StructuredPredictor
from widemargin.data.generators import matchings


class Matching:
    """Perfect matchings: x[i, j] are the features of the pair (i, j), and y[i] is the partner of i."""

    def features(self, x, y):
        """The sum of the features of all pairs."""
        return x[np.arange(len(y)), list(y)].sum(axis=0)

    def error(self, y, y_hat):
        """How many partners are wrong."""
        return float(np.sum(np.not_equal(y, y_hat)))

    def decode(self, x, w, y=None):
        """The best matching; with the gold one given, every wrong pair scores 1 more, which makes mistakes tempting."""
        scores = x @ w
        if y is not None:
            scores += 1.0
            scores[np.arange(len(y)), list(y)] -= 1.0
        _, partners = linear_sum_assignment(scores, maximize=True)
        return tuple(partners.tolist())


def accuracy(gold, predicted):
    """The share of nodes with the right partner."""
    return float(np.mean(np.concatenate([np.equal(g, p) for g, p in zip(gold, predicted, strict=True)])))


def main(n_train=100, n_test=200):
    """Match before and after learning; return both accuracies and the model."""
    X, y = matchings(n_train, seed=1)
    X_test, y_test = matchings(n_test, seed=2)
    structure = Matching()

    model = StructuredPredictor(structure, C=0.1, tol=0.01, max_epochs=100).fit(X, y)

    equal_weights = np.ones(X[0].shape[-1])
    before = accuracy(y_test, [structure.decode(x, equal_weights) for x in X_test])
    after = accuracy(y_test, model.predict(X_test))
    print(f"right partners with equal weights: {before:.1%}, with learned weights: {after:.1%}")
    print(model.solution_)
    return before, after, model


if __name__ == "__main__":
    main()
