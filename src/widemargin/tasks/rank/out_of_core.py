"""Rankers for data larger than memory: documents and grades are written to arrays on disk, query by query."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from widemargin.core.examples import on_disk
from widemargin.core.header import whole
from widemargin.core.mapped import Pages, VectorFile
from widemargin.core.stored import Stored
from widemargin.errors import DataError
from widemargin.tasks.arrays import Arrays, Boundaries, Facts, MatrixFile
from widemargin.tasks.rank import RankerParameters
from widemargin.tasks.rank.estimator import assemble_rankings, examples_for, settings_of
from widemargin.tasks.rank.features import as_grades, as_queries
from widemargin.tasks.rank.model import RankingModel, feature_rows
from widemargin.tasks.training import Compiled, Data
from widemargin.text.matrices import MatrixExtractor


class RankArrays(Arrays):
    """Documents, whose values are always written out, and their grades."""

    settings: ClassVar[tuple[str, ...]] = ("normalize",)

    def __init__(self, parameters: RankerParameters, folder: Path) -> None:
        super().__init__(parameters, folder)
        self.ranking, self.matrix = settings_of(parameters), MatrixFile(folder)
        self.queries, self.grades = Boundaries(folder), VectorFile(folder / "grades", np.int32)

    def add(self, data: Data) -> None:
        """Write a piece of whole queries."""
        queries = as_queries(data.X)
        matrix = self.matrix.read(queries.matrix, of_file=data.X is queries)
        rows, *_ = feature_rows(MatrixExtractor(matrix.width), queries._replace(matrix=matrix), self.ranking)
        self.matrix.rows.append(rows)
        self.grades.append(as_grades(data.y, queries.indptr))
        self.queries.add(queries.indptr)

    def settle(self) -> Facts:
        """The width; nothing has to be numbered anew."""
        if not self.grades.size:
            raise DataError("there are no queries")
        self.matrix.scales.warn()
        return Facts({"width": self.matrix.width}, {})

    @staticmethod
    def compiled(parameters: RankerParameters, stored: Stored, pages: Pages, data: Data) -> Compiled[RankingModel]:
        """The written arrays as examples."""
        settings, extractor = (
            settings_of(parameters),
            MatrixExtractor(stored.checked({"width": whole(at_least=0)})["width"]),
        )
        grades = pages.vector("grades", np.int32)
        indptr = pages.boundaries("indptr", len(grades))
        examples = examples_for(settings, pages.rows("features"), extractor.n_features, indptr, grades)
        return assemble_rankings(parameters, extractor, on_disk(examples, pages), data)
