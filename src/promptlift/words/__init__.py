"""One writer: how rates, differences, lifts, trends, verdicts and reasons read, whoever shows them.

``figures`` formats numbers, ``names`` what people called things, ``sentences`` puts both together from plain values.
"""
