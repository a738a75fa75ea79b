#!/bin/sh
# Lay out Penstock for production: deployments/install.sh /opt/penstock   (or: make production PREFIX=/opt/penstock)
#
# The folder gets the packages of requirements.lock and Penstock itself, nothing that tests or builds, and not even pip.
# It belongs to whoever runs this, which should be root, and everybody else may read it. Everything is compiled here,
# because nobody will be able to write to it later. PYTHON: an interpreter that the service account may run too.
set -eu
umask 022
PYTHON=${PYTHON:-python3}
PREFIX=$(realpath -m -- "${1:?Say where, such as /opt/penstock.}")
if [ -e "$PREFIX" ] && [ ! -e "$PREFIX/pyvenv.cfg" ]; then
	echo "$PREFIX is there, and is not an installation of Penstock. Choose another folder." >&2
	exit 1
fi
cd "$(dirname "$0")/.."
BUILD=$(mktemp -d)
trap 'rm -rf "$BUILD"' EXIT

# The wheel is built apart, from a copy without what other builds have left.
"$PYTHON" -m venv "$BUILD/tools"
pip() { "$BUILD/tools/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
sed -n '/^setuptools==/,/^    #/p' requirements-test.lock >"$BUILD/setuptools.lock"
pip install --no-deps --require-hashes -r "$BUILD/setuptools.lock"
mkdir "$BUILD/source"
cp -R pyproject.toml README.md LICENSE api deployments flows measures mechanisms records reports reproduction tasks "$BUILD/source"
pip wheel --no-deps --no-build-isolation --wheel-dir "$BUILD" "$BUILD/source"

"$PYTHON" -m venv --clear --without-pip "$PREFIX"
pip --python "$PREFIX/bin/python" install --no-deps --require-hashes -r requirements.lock
pip --python "$PREFIX/bin/python" install --no-deps "$BUILD"/penstock-*.whl
cd / # where no other Penstock is imported
NUMBA_CACHE_DIR="$PREFIX/kernels" "$PREFIX/bin/python" -m penstock.tasks.warm_up
