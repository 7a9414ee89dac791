internal import CHTTPDNSCurl

// Content codings. gzip and deflate are always taken off here: libcurl takes a body for whole that ends in the middle of them.
extension EasyHandle {
    /// Sets which codings are asked for.
    func configureDecoding() {
        if loop.configuration.decodesByThePiece { return set(CURLOPT_ACCEPT_ENCODING, "") }
        set(CURLOPT_ACCEPT_ENCODING, "deflate, gzip")
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    }

    /// The head is there. From here on libcurl leaves a coding alone that is taken off here.
    ///
    /// Seen in libcurl 7.88.1: it looks at this option again for each piece of the body. Later ones make up their mind when they
    /// read the head.
    func beginDecoding() {
        guard transfer?.request.decodes == true, let coding = declaredCoding.inflated else { return }
        if loop.configuration.decodesByThePiece { set(CURLOPT_HTTP_CONTENT_DECODING, 0) }
        inflater = Inflater(coding)
    }

    /// Before the handle's next transfer.
    func endDecoding() {
        declaredCoding = DeclaredCoding()
        guard inflater != nil else { return }
        inflater = nil
        if loop.configuration.decodesByThePiece { set(CURLOPT_HTTP_CONTENT_DECODING, 1) }
    }

    /// Takes the coding off bytes of the body.
    /// - Returns: Whether that went well, and there may be more.
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

    /// Whether the body has become so much longer by decoding that it is made to fill a memory or a disk.
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

    /// What a body comes to that has ended.
    var cutShort: TransferFailure? {
        guard inflater?.isAtEnd == false else { return nil }
        return EasyHandle.undecodable("the answer ends in the middle of its content coding")
    }

    /// What libcurl, too, takes for an error.
    static let goesOn = "the answer goes on behind the end of its content coding"

    private static func undecodable(_ message: String) -> TransferFailure {
        TransferFailure(code: .undecodable, phase: .body, message: message)
    }
}
