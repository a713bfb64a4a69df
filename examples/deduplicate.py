"""Deduplicating records: which of them are about the same person?

Names are abbreviated and mistyped, streets shortened, telephone numbers missing, and members of a family share half of
their fields. Which agreements count, and how much, is learnt from lists in which somebody has marked the duplicates. A
cluster is held together by its strongest links (a latent spanning forest), so two records that look nothing like each
other may belong together by way of a third.
"""

from widemargin import Clusterer
from widemargin.clusterings import clustering_scores
from widemargin.data.duplicates import duplicates


def by_equal_fields(records, field):
    """The obvious baseline: records are the same where this field is, and records without it are alone."""
    return [record[field] or f"record {k}" for k, record in enumerate(records)]


def main(n_train=40, n_test=20):
    """Deduplicate by single fields and by what was learnt; return both scores and the model."""
    X, y = duplicates(n_train, seed=1)
    X_test, y_test = duplicates(n_test, seed=2)

    clusterer = Clusterer(C=0.1).fit(X, y)

    print("B³ on new lists, of which all records are right at 100 %")
    equal = {}
    for field in X_test[0][0]:
        predicted = [by_equal_fields(records, field) for records in X_test]
        equal[field] = clustering_scores(y_test, predicted, ["b3"])["b3"].f1
        print(f"  the same {field}: {equal[field]:.1%}")
    learnt = clusterer.score(X_test, y_test)
    print(f"  what was learnt: {learnt:.1%}")
    print(clusterer.solution_)
    return max(equal.values()), learnt, clusterer


if __name__ == "__main__":
    main()
