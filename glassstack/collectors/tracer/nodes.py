"""Which files are devices; the words are the decoders'."""

from glassstack.decoders.nodes import may_be_node, node_of

__all__ = ["may_be_node", "node_of"]
