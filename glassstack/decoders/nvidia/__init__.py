"""What crosses NVIDIA's boundary: ioctls of the frontend and of nvidia-uvm, by the node they are made on.

The ``table_*`` modules hold facts as rows of text and no behaviour: what a new
driver brings is new rows. Pure, as every decoder.
"""
