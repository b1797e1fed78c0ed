"""The one codec for events: msgpack between our processes, JSON lines for people and files."""

import msgspec

from glassstack.model.events import Event

encode_batch = msgspec.msgpack.Encoder().encode
"""list[Event] → bytes."""
decode_batch = msgspec.msgpack.Decoder(list[Event]).decode
"""bytes → list[Event]; msgspec.DecodeError on anything else."""
encode_line = msgspec.json.Encoder().encode
"""Event → JSON without a newline."""
decode_line = msgspec.json.Decoder(Event).decode
"""JSON → Event; msgspec.DecodeError on anything else."""
