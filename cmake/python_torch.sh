# shellcheck shell=bash
# Torch for Python, for tests of scripts and as the peer of measurements, in the project's cache. Of the version that
# LibTorch has.
install_python_torch() {
  local version toolkit=/usr/local/cuda/lib64 folder
  version=$(awk '$1 == "torch" { print $2 }' cmake/wheels.lock)
  folder=$CACHE/python-torch-$version
  if [ ! -e "$folder/COMPLETE" ]; then
    echo "installing torch $version for Python (once; 1.7 GB) into $folder" >&2
    rm -rf "$folder"
    local pip=(python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder")
    if [ -e $toolkit/libcublas.so.13 ]; then
      # The toolkit has the large libraries already.
      "${pip[@]}" --no-deps "torch==$version" filelock typing-extensions sympy mpmath networkx jinja2 markupsafe fsspec \
        numpy nvidia-cufile nvidia-cusparselt-cu13==0.8.0 nvidia-nvshmem-cu13==3.4.5
    else
      "${pip[@]}" "torch==$version" numpy
    fi
    touch "$folder/COMPLETE"
  fi
  export PYTHONPATH=$folder
  export LD_LIBRARY_PATH=$toolkit${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
