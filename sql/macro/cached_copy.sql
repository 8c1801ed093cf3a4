-- Bytes of a copy that the last-level cache serves: all bytes if the copy, written and read once, fits. [byte]
CREATE MACRO cached_copy(copied_byte, room_byte, chunk_count) AS
    CASE WHEN copied_byte <= 2e0 * room_byte * chunk_count THEN copied_byte ELSE 0e0 END;
