"""Training on several parts of the data at once, by consensus, CoCoA+ (Ma et al. 2015) or mixing; without a network.

Blocks are split into K parts. Part k holds its examples, cuts and α, and a copy of the common w. In a round it improves

    max over Δα   Σ b Δα − ⟨w, Δw_k⟩ − ½ σ′‖Δw_k‖² − (mass terms of its blocks),   Δw_k = Σ Δα a

and then w += Σ_k Δw_k. P and D are ½‖w‖² and sums over parts, so the certificate is as exact as that of one machine.

| file | holds |
| --- | --- |
| `messages` | messages between the driver and the parts |
| `part` | one part of a dual solver's run |
| `team` | the driver's side: the round of every part, lost parts, bytes moved |
| `cocoa`, `consensus`, `mixing` | the rounds, as solvers of the one training loop |
| `problem` | the sum over parts, which these solvers minimise |
"""
