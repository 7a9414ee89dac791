/// The buffer for a loop's decoded bodies: at most one chunk, which is copied out before the next one.
final class DecodeBuffer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: EasyHandle.maximumChunk, alignment: 16)

    deinit { bytes.deallocate() }
}
