/// Where a loop's bodies are decoded: a chunk at most, which is copied out before the next one.
final class DecodingRoom {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: EasyHandle.maximumChunk, alignment: 16)

    deinit { bytes.deallocate() }
}
