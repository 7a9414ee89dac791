internal import CCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension EasyHandle {
    /// Tells libcurl everything about a transfer. All options are set anew: the handle was reset.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for bytes that must not reach the wire.
    func prepare(_ transfer: Transfer, pin: Pin, removals: [String]) throws(TransferFailure) {
        let request = transfer.request
        self.transfer = transfer
        self.pin = pin
        let me = Unmanaged.passUnretained(self).toOpaque()
        set(CURLOPT_PRIVATE, pointer: me)
        set(CURLOPT_URL, request.url.description)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PROXY, "")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_ACCEPT_ENCODING, "")
        set(CURLOPT_TCP_NODELAY, 1)
        _ = ccurl_set_string(curl, CURLOPT_ERRORBUFFER, errorBuffer)

        set(CURLOPT_CONNECT_TO, list: pin.connectTo)
        set(CURLOPT_RESOLVE, list: resolveList(removals: removals, then: pin))
        set(CURLOPT_DNS_CACHE_TIMEOUT, -1)
        _ = ccurl_set_resolver_start_function(curl, refuseLookup)

        set(CURLOPT_WRITEFUNCTION, function: receiveBodyCallback)
        set(CURLOPT_WRITEDATA, pointer: me)
        set(CURLOPT_HEADERFUNCTION, function: receiveHeaderCallback)
        set(CURLOPT_HEADERDATA, pointer: me)
        _ = ccurl_set_prerequest_function(curl, approveCallback)
        set(CURLOPT_PREREQDATA, pointer: me)
        let loopPointer = Unmanaged.passUnretained(loop).toOpaque()
        _ = ccurl_set_open_socket_function(curl, openSocketCallback)
        _ = ccurl_set_close_socket_function(curl, closeSocketCallback)
        set(CURLOPT_CLOSESOCKETDATA, pointer: loopPointer)

        if request.url.scheme == .https {
            set(CURLOPT_CAINFO, try loop.certificateBundle.get())
            // A null CAPATH keeps libcurl's cache of parsed roots in use.
            _ = ccurl_set_string(curl, CURLOPT_CAPATH, nil)
            // The names in a refused certificate are what its error must tell.
            set(CURLOPT_CERTINFO, 1)
        }
        switch request.versions {
        case .automatic:
            set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
            set(CURLOPT_PIPEWAIT, request.url.scheme == .https ? 1 : 0)
        case .http1Only:
            set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        }
        try prepareMethod(request, me)
        headerList = try HeaderLines.list(for: request)
        set(CURLOPT_HTTPHEADER, list: headerList)
    }

    private func prepareMethod(_ request: TransferRequest, _ me: UnsafeMutableRawPointer) throws(TransferFailure) {
        if request.hasBody {
            set(CURLOPT_UPLOAD, 1)
            set(CURLOPT_READFUNCTION, function: sendBodyCallback)
            set(CURLOPT_READDATA, pointer: me)
            let length: Int64 =
                switch request.body {
                case .none: 0
                case .bytes(let bytes): Int64(bytes.count)
                case .stream(let length, _): length ?? -1
                }
            set(CURLOPT_INFILESIZE_LARGE, offset: length)
            if request.method != .put { set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        } else if request.method == .head {
            set(CURLOPT_NOBODY, 1)
        } else if request.method != .get {
            set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
    }
}

// MARK: callbacks

private func handle(_ pointer: UnsafeMutableRawPointer?) -> EasyHandle? {
    pointer.map { Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue() }
}

private let receiveBodyCallback: ccurl_data_function = { bytes, size, count, pointer in
    handle(pointer)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private let receiveHeaderCallback: ccurl_data_function = { bytes, size, count, pointer in
    handle(pointer)?.receiveHeaderLine(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private let sendBodyCallback: ccurl_data_function = { bytes, size, count, pointer in
    handle(pointer)?.sendBody(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        ?? Int(CURL_READFUNC_ABORT)
}

private let approveCallback: ccurl_prerequest_function = { pointer, peer, _, port, _ in
    guard let handle = handle(pointer), let peer, handle.approve(peer: peer, port: port) else {
        return Int32(CURL_PREREQFUNC_ABORT)
    }
    return Int32(CURL_PREREQFUNC_OK)
}

/// Every look-up that a pin does not answer is refused: libcurl never resolves anything.
private let refuseLookup: ccurl_resolver_start_function = { _, _, _ in 1 }

private let openSocketCallback: ccurl_open_socket_function = { _, _, address in
    guard let address else { return -1 }
    return openSocket(address.pointee.family, address.pointee.socktype, address.pointee.protocol)
}

private let closeSocketCallback: ccurl_close_socket_function = { pointer, descriptor in
    if let pointer { Unmanaged<TransportLoop>.fromOpaque(pointer).takeUnretainedValue().socketClosed(descriptor) }
    return closeSocket(descriptor)
}
