internal import CHTTPDNSCurl

// Content codings. gzip and deflate are always decoded here: libcurl accepts a body as complete that ends in the middle of
// them.
extension EasyHandle {
    /// Sets the codings to request.
    func configureDecoding() {
        if loop.configuration.decodesByThePiece { return set(CURLOPT_ACCEPT_ENCODING, "") }
        set(CURLOPT_ACCEPT_ENCODING, "deflate, gzip")
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    }

    /// Begins decoding after the head. From here on libcurl ignores a coding that is decoded here.
    ///
    /// Seen in libcurl 7.88.1: it checks this option again for each piece of the body. Later versions decide when they read the
    /// head.
    func beginDecoding() {
        guard transfer?.request.decodes == true, let coding = declaredCoding.inflated else { return }
        if loop.configuration.decodesByThePiece { set(CURLOPT_HTTP_CONTENT_DECODING, 0) }
        inflater = Inflater(coding)
    }

    /// Resets decoding before the handle's next transfer.
    func endDecoding() {
        declaredCoding = DeclaredCoding()
        guard inflater != nil else { return }
        inflater = nil
        if loop.configuration.decodesByThePiece { set(CURLOPT_HTTP_CONTENT_DECODING, 1) }
    }

    /// Decodes bytes of the body.
    /// - Returns: Whether that succeeded, and more may follow.
    func decode(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let inflater else {
            guard declaredCoding.isUnknown, !loop.configuration.decodesByThePiece, transfer?.request.decodes == true
            else { return takeBody(bytes) }
            failure = EasyHandle.undecodable(
                "the response has another content coding than gzip or deflate, or several; libcurl \(CurlLibrary.version) "
                    + "takes off no others here, and none was asked for"
            )
            return false
        }
        do {
            return try inflater.decode(bytes, in: loop.decodingRoom.bytes) { takeBody($0) }
        } catch {
            failure =
                switch error {
                case .broken(let words):
                    EasyHandle.undecodable("the answer's content coding cannot be taken off: \(words)")
                case .goesOn: EasyHandle.undecodable(EasyHandle.goesOn)
                }
            return false
        }
    }

    /// Whether decoding has made the body so much longer that it seems intended to exhaust memory or disk.
    var isDecodingTooMuch: Bool {
        guard declaredCoding.isDeclared, maximumBodyBytes == .max, bodyBytes > TransferLimits.uncheckedDecodedBytes,
            transfer?.request.decodes == true
        else { return false }
        let (received, overflow) = receivedBodyBytes.multipliedReportingOverflow(
            by: TransferLimits.maximumDecodingRatio
        )
        return !overflow && bodyBytes > received
    }

    static let decodesTooLong = TransferFailure(
        code: .responseTooLarge,
        phase: .body,
        message: "the decoded body is over \(TransferLimits.maximumDecodingRatio) times as long as what the server sent"
    )

    /// The failure of a body that has ended in the middle of its coding.
    var cutShort: TransferFailure? {
        guard inflater?.isAtEnd == false else { return nil }
        return EasyHandle.undecodable("the answer ends in the middle of its content coding")
    }

    /// The message for data after the end of the coding, which libcurl also treats as an error.
    static let goesOn = "the answer goes on behind the end of its content coding"

    private static func undecodable(_ message: String) -> TransferFailure {
        TransferFailure(code: .undecodable, phase: .body, message: message)
    }
}
