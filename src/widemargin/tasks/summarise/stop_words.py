"""English words that carry little meaning by themselves: articles, pronouns, prepositions, auxiliaries, …"""

WORDS = """
a about above after again against all also am an and any are aren as at be because been before being below between
both but by can cannot could couldn d did didn do does doesn doing don down during each either else ever every few
for from further get got had hadn has hasn have haven having he her here hers herself him himself his how however i
if in into is isn it its itself just ll m may me might more most much must my myself neither no nor not now of off
on once one only or other our ours ourselves out over own re s same she should shouldn so some such t than that the
their theirs them themselves then there these they this those though through to too under until up upon us ve very
was wasn we were weren what when where whether which while who whom whose why will with within without won would
wouldn yet you your yours yourself yourselves
"""
ENGLISH = tuple(WORDS.split())
