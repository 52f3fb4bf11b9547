"""Hand-written lists of English words that say little about the topic of a text or question."""

FUNCTION_WORDS = """
a an the and or but nor of to in on at by for from with about as into onto over under after before between
during through against among within without is are was were be been being am do does did done has have had
having will would shall should can could may might must not no yes this that these those it its he him his
she her hers they them their we us our you your i me my who whom whose which what when where why how if then
than so such there here also both either neither each any some all more most much other another same own
very too only just even ever never still yet again once because while until since although though however
per via
"""
"""Function words; a superset of the stop words of indexes."""

COMMON_WORDS = """
first second third last new old young early late later long high large small great good best main major many
time year month day date century age period name title part place number list group type kind form series
one two three four five six seven eight nine ten several country nation national state county city town
village area region district province capital north south east west northern southern eastern western
american british english united international world person people man men woman women member leader
president king queen father mother son daughter wife husband child children family born birth birthplace
died death life live living known famous called considered film movie song album music band book novel show
television game team league club season award school university college company director directed actor
actress star starring producer produced writer written author singer performer composer player record
release released character work play played won win winner made make used use base based locate located
found founded include become became begin began end start serve hold held set take appear create created
original general public house
"""
"""Content words that occur in many questions and passages."""
